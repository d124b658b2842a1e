import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Meets many topics one after another: one record to each of PREFIX-0 to PREFIX-(N-1), at a steady pace, then
 * records to the first one alone for IDLE_S seconds.
 *
 * java -cp JARS ManyTopics.java PREFIX N PAUSE_MS IDLE_S KEY=VALUE...
 *
 * Java 8 syntax, run as one source file: it serves every client since 2.4.
 */
public class ManyTopics {
    public static void main(String[] told) throws Exception {
        String prefix = told[0];
        int topics = Integer.parseInt(told[1]);
        double pauseMs = Double.parseDouble(told[2]);
        long idleMs = 1000L * Integer.parseInt(told[3]);
        Properties properties = new Properties();
        for (int nth = 4; nth < told.length; nth++) {
            String[] pair = told[nth].split("=", 2);
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
