import org.apache.kafka.clients.producer.ProducerConfig;

/** Prints the settings that the producer on the class path knows. */
class Known {
    public static void main(String[] arguments) {
        ProducerConfig.configNames().forEach(System.out::println);
    }
}
