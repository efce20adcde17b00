import { clusterName } from "./leftovers.ts";
import { port } from "./socket.ts";

/** Given on the command line, so they hold whatever a configuration file in the cluster says. */
export function serverSettings(options: { cluster: string; socketFolder: string }): Record<string, string> {
  const { cluster, socketFolder } = options;
  return {
    cluster_name: clusterName(cluster),

    listen_addresses: "",
    port: String(port),
    // The setting is a list: quotes keep a comma in the path from splitting it.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    max_connections: "100",

    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    shared_buffers: "128MB",
    // Fewer, larger checkpoints, yet a recovery of seconds.
    checkpoint_timeout: "10min",
    max_wal_size: "512MB",
    wal_compression: "on",
    jit: "off",
    timezone: "UTC",

    logging_collector: "off",
    log_destination: "stderr",
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] ",
    // Statements and rows hold the users' work, so none of it may reach the log. An error's message quotes
    // values ('invalid input syntax for type uuid: "..."') and goes to the client anyway: "log" leaves errors
    // out, but keeps what the server says about itself. "terse" drops DETAIL, which quotes statements and rows.
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
