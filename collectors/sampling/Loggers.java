import java.io.FileReader;
import java.io.Reader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Reads and changes log levels of running brokers. Each broker is queried by itself and all at the same time, so
 * brokers that are down neither affect nor delay the others.
 *
 * SERVERS PROPERTIES levels all|1,3 LOGGER...           prints: level, broker, logger, level, level of the parent
 * SERVERS PROPERTIES change BROKER LOGGER FROM TO|- ... prints: done or other, broker, logger, level
 * For a broker that does not answer, it prints: failed, broker, reason. TO "-" removes the logger's own level,
 * so that the logger inherits the level of its parent.
 */
class Loggers {
    static final String ROOT = "root";

    /** Adds what it finds on a broker, or changes there, to the rows. */
    interface Work {
        void on(String broker, List<String> rows) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        boolean reads = args[2].equals("levels");
        Properties properties = properties(args[0], args[1]);
        if (!reads) {
            // A change is sent once. A first copy that was not answered could take effect after the answer to the
            // second one, and after the restore.
            properties.put("retries", "0");
        }
        try (Admin admin = Admin.create(properties)) {
            if (reads) {
                levels(admin, args[3], List.of(args).subList(4, args.length));
            } else {
                change(admin, List.of(args).subList(3, args.length));
            }
        }
    }

    static Properties properties(String servers, String file) throws Exception {
        Properties properties = new Properties();
        properties.put("request.timeout.ms", "5000");
        properties.put("default.api.timeout.ms", "10000");
        properties.put("client.id", "plumbline-sample");
        try (Reader reader = new FileReader(file)) {
            properties.load(reader);
        }
        properties.put("bootstrap.servers", servers);
        return properties;
    }

    static void levels(Admin admin, String brokers, List<String> loggers) throws Exception {
        Collection<String> listed = brokers.equals("all") ? brokersOf(admin) : List.of(brokers.split(","));
        atOnce(listed, (broker, rows) -> {
            Config config = config(admin, broker);
            for (String logger : loggers) {
                ConfigEntry entry = config.get(logger);
                String level = entry == null ? "-" : entry.value();
                rows.add(row("level", broker, logger, level, parent(config, logger)));
            }
        });
    }

    static Collection<String> brokersOf(Admin admin) throws Exception {
        return admin.describeCluster().nodes().get().stream().map(Node::idString).sorted().toList();
    }

    static void change(Admin admin, List<String> words) throws Exception {
        Map<String, List<List<String>>> wanted = new LinkedHashMap<>();
        for (int at = 0; at < words.size(); at += 4) {
            wanted.computeIfAbsent(words.get(at), broker -> new ArrayList<>()).add(words.subList(at + 1, at + 4));
        }
        atOnce(wanted.keySet(), (broker, rows) -> change(admin, broker, wanted.get(broker), rows));
    }

    /** Does the work on all brokers at the same time, because each that is down takes the whole timeout. */
    static void atOnce(Collection<String> brokers, Work work) throws Exception {
        List<Callable<List<String>>> tasks = new ArrayList<>();
        for (String broker : brokers) {
            tasks.add(() -> rowsOf(broker, work));
        }
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            for (Future<List<String>> rows : threads.invokeAll(tasks)) {
                rows.get().forEach(System.out::println);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    static List<String> rowsOf(String broker, Work work) throws Exception {
        List<String> rows = new ArrayList<>();
        try {
            work.on(broker, rows);
        } catch (ExecutionException failure) {
            rows.add(row("failed", broker, failure.getCause().toString()));
        }
        return rows;
    }

    static void change(Admin admin, String broker, List<List<String>> changes, List<String> rows) throws Exception {
        Config config = config(admin, broker);
        List<AlterConfigOp> operations = new ArrayList<>();
        List<String> done = new ArrayList<>();
        for (List<String> change : changes) {
            String logger = change.get(0), to = change.get(2);
            String now = config.get(logger) == null ? "-" : config.get(logger).value();
            if (!now.equals(change.get(1))) {
                rows.add(row("other", broker, logger, now));
                continue;
            }
            OpType kind = to.equals("-") ? OpType.DELETE : OpType.SET;
            operations.add(new AlterConfigOp(new ConfigEntry(logger, to.equals("-") ? "" : to), kind));
            done.add(logger);
        }
        if (!operations.isEmpty()) {
            admin.incrementalAlterConfigs(Map.of(resource(broker), operations)).all().get();
        }
        Config after = done.isEmpty() ? config : config(admin, broker);
        done.forEach(logger -> rows.add(row("done", broker, logger, after.get(logger).value())));
    }

    static String parent(Config config, String logger) {
        String name = logger;
        while (name.contains(".")) {
            name = name.substring(0, name.lastIndexOf('.'));
            if (config.get(name) != null) {
                return config.get(name).value();
            }
        }
        return config.get(ROOT) == null ? "-" : config.get(ROOT).value();
    }

    static Config config(Admin admin, String broker) throws Exception {
        ConfigResource resource = resource(broker);
        return admin.describeConfigs(List.of(resource)).all().get().get(resource);
    }

    static ConfigResource resource(String broker) {
        return new ConfigResource(ConfigResource.Type.BROKER_LOGGER, broker);
    }

    static String row(String... words) {
        return String.join("\t", words).replace('\n', ' ');
    }
}
