import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Dedupe with Kafka Streams, exactly once: a store of keys in RocksDB, with its changelog. */
public final class KafkaStreamsDedupe {
    private static final String SEEN = "seen";
    private static final long PATIENCE_S = 600;
    private static final Duration CLOSING = Duration.ofSeconds(60);

    private static final AtomicLong EVENTS = new AtomicLong();
    private static final AtomicLong PASSED = new AtomicLong();
    private static final CountDownLatch DONE = new CountDownLatch(1);

    /** Passes the first record of each key on. */
    private static final class Dedupe implements Processor<byte[], byte[], byte[], byte[]> {
        private final long wanted;
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<byte[], byte[]> seen;

        Dedupe(long wanted) {
            this.wanted = wanted;
        }

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            this.seen = context.getStateStore(SEEN);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            if (seen.get(record.key()) == null) {
                long offset = context.recordMetadata().orElseThrow().offset();
                seen.put(record.key(), Long.toString(offset).getBytes(StandardCharsets.US_ASCII));
                context.forward(record);
                PASSED.incrementAndGet();
            }
            if (EVENTS.incrementAndGet() == wanted) {
                DONE.countDown();
            }
        }
    }

    private KafkaStreamsDedupe() {}

    /** Reads all events; exit code 0 when each key passed once. */
    public static void main(String[] words) throws InterruptedException {
        Map<String, String> options = new HashMap<>();
        for (int at = 0; at + 1 < words.length; at += 2) {
            options.put(words[at].substring(2), words[at + 1]);
        }
        long wanted = Long.parseLong(options.get("events"));
        KafkaStreams streams = new KafkaStreams(topology(options, wanted), properties(options));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            DONE.countDown();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        boolean isDone = DONE.await(PATIENCE_S, TimeUnit.SECONDS);
        boolean isClosed = streams.close(CLOSING);
        System.out.printf("{\"events\": %d, \"passed\": %d}%n", EVENTS.get(), PASSED.get());
        boolean isRight =
                EVENTS.get() == wanted && PASSED.get() == Long.parseLong(options.get("unique"));
        System.exit(isDone && isClosed && isRight ? 0 : 1);
    }

    private static Topology topology(Map<String, String> options, long wanted) {
        Serde<byte[]> bytes = Serdes.ByteArray();
        return new Topology()
                .addSource("in", bytes.deserializer(), bytes.deserializer(), options.get("input"))
                .addProcessor("dedupe", () -> new Dedupe(wanted), "in")
                .addStateStore(
                        Stores.keyValueStoreBuilder(
                                        Stores.persistentKeyValueStore(SEEN), bytes, bytes)
                                .withLoggingEnabled(Map.of()),
                        "dedupe")
                .addSink(
                        "out",
                        options.get("output"),
                        bytes.serializer(),
                        bytes.serializer(),
                        "dedupe");
    }

    private static Properties properties(Map<String, String> options) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, options.get("output"));
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("servers"));
        properties.put(StreamsConfig.STATE_DIR_CONFIG, options.get("state"));
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, options.get("guarantee"));
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, options.get("threads"));
        properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        // A cache would hold back the changelog alone: no key is written twice.
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        properties.put(StreamsConfig.consumerPrefix("check.crcs"), "false");
        properties.put(StreamsConfig.producerPrefix("compression.type"), "lz4");
        return properties;
    }
}
