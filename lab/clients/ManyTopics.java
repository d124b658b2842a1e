import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces one record to each of the topics PREFIX-0 to PREFIX-(N-1), at a fixed rate. Then produces to the first
 * topic only, for IDLE_S seconds.
 *
 * java -cp JARS ManyTopics.java PREFIX N PAUSE_MS IDLE_S KEY=VALUE...
 *
 * Java 8 syntax in one source file, so that it runs with every client since 2.4.
 */
public class ManyTopics {
    public static void main(String[] args) throws Exception {
        String prefix = args[0];
        int topics = Integer.parseInt(args[1]);
        double pauseMs = Double.parseDouble(args[2]);
        long idleMs = 1000L * Integer.parseInt(args[3]);
        Properties properties = new Properties();
        for (int nth = 4; nth < args.length; nth++) {
            String[] pair = args[nth].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            long began = System.nanoTime();
            for (int nth = 0; nth < topics; nth++) {
                producer.send(new ProducerRecord<>(prefix + "-" + nth, "x")).get();
                long dueMs = (long) ((nth + 1) * pauseMs) - (System.nanoTime() - began) / 1_000_000;
                Thread.sleep(Math.max(0, dueMs));
            }
            long until = System.nanoTime() + idleMs * 1_000_000;
            while (System.nanoTime() < until) {
                producer.send(new ProducerRecord<>(prefix + "-0", "x")).get();
                Thread.sleep(100);
            }
        }
    }
}
