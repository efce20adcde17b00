export function openaiError(status: number, message: string): object {
  return {
    error: { message, type: "invalid_request_error", param: null, code: status === 404 ? "not_found" : null },
  };
}
