/** A failed request; `message` can be shown to the user as it is. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 if there was no response. */
    readonly status: number,
    readonly kind: string,
    message: string,
    /** Seconds to wait, from Retry-After. */
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** The text to show for anything a request threw. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error for a request that got no response. */
export function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The server does not answer. Check your connection and try again.");
}

/** The error for a refused request, with the server's message if it sent one. */
export async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: { kind?: string; message?: string } } | null)?.error;
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new ApiError(
    response.status,
    error?.kind ?? "internal",
    error?.message ?? `The server answered with status ${response.status}. Try again.`,
    Number.isNaN(seconds) ? null : seconds,
  );
}
