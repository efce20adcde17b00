#include "changes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8];
  char uname[32], gname[32], major[8], minor[8], prefix[155], rest[12];
};

const char attribute_prefix[] = "SCHILY.xattr.";

void append(struct bytes *bytes, const void *data, size_t size) {
  if (bytes->capacity - bytes->size < size) {
    bytes->capacity = 2 * bytes->capacity + size + 256;
    bytes->data = realloc(bytes->data, bytes->capacity);
    if (!bytes->data) fail("memory");
  }
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

void append_text(struct bytes *bytes, const char *text) { append(bytes, text, strlen(text)); }

/* The length of a record includes its own digits. */
void append_record(struct bytes *records, const char *key, const void *value, size_t size) {
  char digits[32];
  size_t rest = strlen(key) + size + 3, length = rest + 1;
  while ((size_t)snprintf(digits, sizeof digits, "%zu", length) + rest != length) length = rest + strlen(digits);
  append_text(records, digits);
  append_text(records, " ");
  append_text(records, key);
  append_text(records, "=");
  append(records, value, size);
  append_text(records, "\n");
}

static void append_text_record(struct bytes *records, const char *key, const char *value) {
  append_record(records, key, value, strlen(value));
}

static void append_number(struct bytes *records, const char *key, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  append_text_record(records, key, text);
}

void write_all(const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t written = write(1, (const char *)data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    done += (size_t)written;
  }
}

uint64_t padding_of(uint64_t size) { return (BLOCK - size % BLOCK) % BLOCK; }

void write_padding(uint64_t size) {
  static const char zeros[BLOCK];
  write_all(zeros, (size_t)padding_of(size));
}

void write_end(void) {
  static const char zeros[2 * BLOCK];
  write_all(zeros, sizeof zeros);
}

/* A number that does not fit is stored in binary, as GNU tar does. */
static void set_number(char *field, size_t width, uint64_t value) {
  if (value >> (3 * (width - 1))) {
    for (size_t i = width; i-- > 1; value >>= 8) field[i] = (char)(value & 255);
    field[0] = (char)128;
  } else snprintf(field, width, "%0*llo", (int)width - 1, (unsigned long long)value);
}

static void write_header(const struct tar_entry *entry, char type, uint64_t size) {
  struct header header;
  memset(&header, 0, sizeof header);
  strncpy(header.name, entry->name, sizeof header.name - 1);
  strncpy(header.link, entry->link ? entry->link : "", sizeof header.link - 1);
  set_number(header.mode, sizeof header.mode, entry->mode);
  set_number(header.uid, sizeof header.uid, entry->uid);
  set_number(header.gid, sizeof header.gid, entry->gid);
  set_number(header.size, sizeof header.size, size);
  set_number(header.mtime, sizeof header.mtime, entry->mtime.tv_sec < 0 ? 0 : (uint64_t)entry->mtime.tv_sec);
  header.type = type;
  memcpy(header.magic, "ustar\00000", 8);
  memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof header; i++) sum += ((unsigned char *)&header)[i];
  snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
  write_all(&header, sizeof header);
}

void write_entry(const struct tar_entry *entry) {
  struct bytes records = {0};
  char time[64];
  if (entry->is_sparse) {
    append_text_record(&records, "GNU.sparse.major", "1");
    append_text_record(&records, "GNU.sparse.minor", "0");
    append_text_record(&records, "GNU.sparse.name", entry->name);
    append_number(&records, "GNU.sparse.realsize", entry->real_size);
  }
  if (strlen(entry->name) >= 100) append_text_record(&records, "path", entry->name);
  if (entry->link && strlen(entry->link) >= 100) append_text_record(&records, "linkpath", entry->link);
  if (entry->mtime.tv_nsec && entry->mtime.tv_sec > 0) {
    snprintf(time, sizeof time, "%lld.%09ld", (long long)entry->mtime.tv_sec, entry->mtime.tv_nsec);
    append_text_record(&records, "mtime", time);
  }
  if (entry->attributes.size > 0) append(&records, entry->attributes.data, entry->attributes.size);
  if (records.size > 0) {
    struct tar_entry extended = {.name = "@"};
    write_header(&extended, 'x', records.size);
    write_all(records.data, records.size);
    write_padding(records.size);
  }
  write_header(entry, entry->type, entry->size);
  free(records.data);
}

/* Returns less than `size` only at the end. */
size_t read_some(void *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = read(0, (char *)data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read");
    if (count == 0) break;
    done += (size_t)count;
  }
  return done;
}

void read_all(void *data, size_t size) {
  if (read_some(data, size) != size) stop("The archive is incomplete.");
}

static char buffer[1 << 16];

void skip(uint64_t size) {
  while (size > 0) {
    size_t part = size < sizeof buffer ? (size_t)size : sizeof buffer;
    read_all(buffer, part);
    size -= part;
  }
}

/* The sender must not block on padding after the end. */
void drain(void) {
  while (read_some(buffer, sizeof buffer) == sizeof buffer) continue;
}

static uint64_t get_number(const char *field, size_t width) {
  uint64_t value = 0;
  if (field[0] & 128) {
    for (size_t i = 1; i < width; i++) value = value << 8 | (unsigned char)field[i];
    return value;
  }
  for (size_t i = 0; i < width && field[i]; i++)
    if (field[i] >= '0' && field[i] <= '7') value = value * 8 + (uint64_t)(field[i] - '0');
  return value;
}

static char *copy_text(const char *text, size_t width) {
  char *copy = strndup(text, width);
  if (!copy) fail("memory");
  return copy;
}

static void replace(char **text, const char *value) {
  free(*text);
  *text = copy_text(value, SIZE_MAX >> 1);
}

static struct timespec parse_time(const char *text) {
  char *end;
  struct timespec time = {.tv_sec = (time_t)strtoll(text, &end, 10)};
  long digit = 100000000;
  if (*end == '.')
    for (end++; *end >= '0' && *end <= '9' && digit > 0; end++, digit /= 10) time.tv_nsec += (*end - '0') * digit;
  return time;
}

static void apply_record(struct tar_entry *entry, const char *key, char *value, size_t size, int *has_time) {
  size_t prefix = sizeof attribute_prefix - 1;
  if (strcmp(key, "path") == 0 || strcmp(key, "GNU.sparse.name") == 0) replace(&entry->name, value);
  else if (strcmp(key, "linkpath") == 0) replace(&entry->link, value);
  else if (strcmp(key, "mtime") == 0) entry->mtime = parse_time(value), *has_time = 1;
  else if (strcmp(key, "GNU.sparse.realsize") == 0)
    entry->is_sparse = 1, entry->real_size = strtoull(value, NULL, 10);
  else if (strncmp(key, attribute_prefix, prefix) == 0) append_record(&entry->attributes, key + prefix, value, size);
}

/* Records of the form "LENGTH KEY=VALUE\n". */
static void apply_records(struct tar_entry *entry, char *text, size_t size, int *has_time) {
  for (char *at = text; at < text + size;) {
    char *end;
    unsigned long length = strtoul(at, &end, 10);
    if (*end != ' ' || length > (unsigned long)(text + size - at)) stop("The archive is invalid.");
    char *next = at + length, *key = end + 1;
    if (next <= key || next[-1] != '\n') stop("The archive is invalid.");
    char *value = memchr(key, '=', (size_t)(next - 1 - key));
    if (!value) stop("The archive is invalid.");
    *value++ = 0;
    next[-1] = 0;
    apply_record(entry, key, value, (size_t)(next - 1 - value), has_time);
    at = next;
  }
}

/* Returns 0 at the end of the archive. The caller reads the body and its padding. */
int read_entry(struct tar_entry *entry) {
  static const struct header zeros;
  struct header header;
  struct tar_entry next = {0};
  int has_time = 0;
  free(entry->name);
  free(entry->link);
  free(entry->attributes.data);
  for (;;) {
    read_all(&header, sizeof header);
    if (memcmp(&header, &zeros, sizeof header) == 0) return 0;
    uint64_t size = get_number(header.size, sizeof header.size);
    if (header.type != 'x') break;
    if (size > MAX_TEXT) stop("An extended header of the archive is too large.");
    char *text = malloc((size_t)size + 1);
    if (!text) fail("memory");
    read_all(text, (size_t)size);
    text[size] = 0;
    skip(padding_of(size));
    apply_records(&next, text, (size_t)size, &has_time);
    free(text);
  }
  if (!next.name) next.name = copy_text(header.name, sizeof header.name);
  if (!next.link) next.link = copy_text(header.link, sizeof header.link);
  if (!has_time) next.mtime.tv_sec = (time_t)get_number(header.mtime, sizeof header.mtime);
  next.type = header.type;
  next.mode = (unsigned)get_number(header.mode, sizeof header.mode) & 07777;
  next.uid = (unsigned)get_number(header.uid, sizeof header.uid);
  next.gid = (unsigned)get_number(header.gid, sizeof header.gid);
  next.size = get_number(header.size, sizeof header.size);
  if (next.size > INT64_MAX - BLOCK) stop("The archive is invalid.");
  *entry = next;
  return 1;
}
