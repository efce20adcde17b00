/**
 * Returns the response with a body whose chunks are checked before anyone reads them. It fails with the error that
 * `check` returns. A `TransformStream` could do the same, but takes several times as long for each chunk.
 */
export function checkedResponse(
  response: Response,
  check: (chunk: Uint8Array) => Error | undefined,
): Response {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  const reader = body.getReader();
  const checked = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const error = check(value);
        if (!error) return controller.enqueue(value);
        controller.error(error);
        await reader.cancel(error);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Chunks are read from the connection only when someone waits for them.
    { highWaterMark: 0 },
  );
  return new Response(checked, { status, statusText, headers });
}
