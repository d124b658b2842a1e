import org.apache.kafka.clients.producer.ProducerConfig;

/** Prints the settings of the producer on the class path. */
class Known {
    public static void main(String[] arguments) {
        ProducerConfig.configNames().forEach(System.out::println);
    }
}
