import { clusterName } from "./leftovers.ts";
import { port } from "./socket.ts";

/** Returns settings to be passed on the command line, where they override the cluster's configuration files. */
export function serverSettings(options: { cluster: string; socketFolder: string }): Record<string, string> {
  const { cluster, socketFolder } = options;
  return {
    cluster_name: clusterName(cluster),

    listen_addresses: "",
    port: String(port),
    // The setting is a list, so the path is quoted in case it contains a comma.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    max_connections: "100",

    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    shared_buffers: "128MB",
    // Makes checkpoints fewer and larger, while crash recovery still takes only seconds.
    checkpoint_timeout: "10min",
    max_wal_size: "512MB",
    wal_compression: "on",
    jit: "off",
    timezone: "UTC",

    logging_collector: "off",
    log_destination: "stderr",
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] ",
    // Statements and rows contain users' data, which must not be logged. Error messages may quote values ('invalid
    // input syntax for type uuid: "..."') and are sent to the client anyway, so the level "log" omits errors but
    // includes messages about the server itself. "terse" omits DETAIL, which quotes statements and rows.
    log_min_messages: "log",
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    log_statement: "none",
    log_min_duration_statement: "-1",
    log_min_duration_sample: "-1",
    log_transaction_sample_rate: "0",
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
    log_checkpoints: "off",
    log_autovacuum_min_duration: "-1",
  };
}
