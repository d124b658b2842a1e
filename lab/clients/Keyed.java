import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces records at a fixed rate, with keys drawn uniformly from 1,000 keys.
 *
 * java -cp JARS Keyed.java TOPIC RECORDS_PER_S FOR_S RECORD_SIZE KEY=VALUE...
 */
public class Keyed {
    public static void main(String[] args) throws Exception {
        double perSecond = Double.parseDouble(args[1]);
        long records = Math.round(perSecond * Double.parseDouble(args[2]));
        byte[] value = new byte[Integer.parseInt(args[3])];
        Properties properties = new Properties();
        for (int nth = 4; nth < args.length; nth++) {
            String[] pair = args[nth].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        Random dice = new Random(4);
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new ByteArraySerializer())) {
            long began = System.nanoTime();
            for (long nth = 0; nth < records; nth++) {
                producer.send(new ProducerRecord<>(args[0], "key-" + dice.nextInt(1000), value));
                long aheadMs = (long) (1e3 * (nth + 1) / perSecond) - (System.nanoTime() - began) / 1_000_000;
                if (aheadMs > 1) {
                    Thread.sleep(aheadMs - 1);
                }
            }
        }
    }
}
