import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumes all partitions of a topic, without a consumer group.
 *
 * java -cp JARS Reader.java TOPIC FOR_S KEY=VALUE...
 */
public class Reader {
    public static void main(String[] args) {
        Properties properties = new Properties();
        for (int nth = 2; nth < args.length; nth++) {
            String[] pair = args[nth].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        long until = System.nanoTime() + (long) (1e9 * Double.parseDouble(args[1]));
        long records = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = consumer.partitionsFor(args[0]).stream()
                    .map(of -> new TopicPartition(args[0], of.partition()))
                    .collect(Collectors.toList());
            consumer.assign(all);
            consumer.seekToBeginning(all);
            while (System.nanoTime() < until) {
                records += consumer.poll(Duration.ofMillis(100)).count();
            }
        }
        System.out.println(records + " records read");
    }
}
