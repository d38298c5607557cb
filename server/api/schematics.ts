// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Uploads schematics to the image factory on behalf of clients.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** Uploads schematics. */
export interface SchematicUploader {
  /**
   * Uploads a schematic and returns its ID.
   *
   * @throws CodedError `invalidArgument` for what the factory refuses, with its own words;
   *   `unavailable` when it does not answer as it should.
   */
  upload(schematic: Uint8Array, signal: AbortSignal): Promise<string>;
}

/** Options of {@linkcode createSchematicUploader}. */
export interface SchematicUploaderOptions {
  /** Address of the factory without a slash at the end. */
  readonly baseUrl: string;
  /** Time for one upload, in milliseconds. */
  readonly timeoutMs?: number;
}

/** A schematic names extensions and kernel arguments: a few kilobytes, and never this much. */
const MAX_SCHEMATIC_BYTES = 1 << 20;
/** The reply is an ID, or an error in words. */
const MAX_REPLY_BYTES = 64 << 10;
/** So much of the factory's error is passed on, in characters. */
const MAX_ERROR_LENGTH = 2000;
const TIMEOUT_MS = 30_000;

async function readReply(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of response.body ?? []) {
    total += part.length;
    if (total > MAX_REPLY_BYTES) {
      throw new CodedError("unavailable", "The reply of the image factory is too long");
    }
    parts.push(part);
  }
  return await new Blob(parts as BlobPart[]).text();
}

function readId(text: string): string {
  let id: unknown;
  try {
    id = (JSON.parse(text) as { readonly id?: unknown } | null)?.id;
  } catch {
    id = undefined;
  }
  if (typeof id === "string" && /^[0-9a-f]{64}$/.test(id)) return id;
  throw new CodedError("unavailable", "The reply of the image factory holds no schematic ID");
}

function refusal(status: number, text: string): CodedError {
  const words = text.replace(/\s+/g, " ").trim().slice(0, MAX_ERROR_LENGTH);
  const reason = words === "" ? "" : `: ${words}`;
  const message = `The image factory refused the schematic with status ${status}${reason}`;
  return new CodedError(status >= 400 && status < 500 ? "invalidArgument" : "unavailable", message);
}

/** Creates an uploader to one factory. */
export function createSchematicUploader(
  { baseUrl, timeoutMs = TIMEOUT_MS }: SchematicUploaderOptions,
): SchematicUploader {
  const url = `${baseUrl}/schematics`;
  return {
    async upload(schematic, signal) {
      if (schematic.length > MAX_SCHEMATIC_BYTES) {
        throw new CodedError(
          "invalidArgument",
          `Cannot upload the schematic: it has ${schematic.length} bytes, ` +
            `the limit is ${MAX_SCHEMATIC_BYTES}`,
        );
      }
      const timeout = AbortSignal.timeout(timeoutMs);
      let response: Response;
      let text: string;
      try {
        response = await fetch(url, {
          method: "POST",
          body: schematic.slice(),
          headers: { "content-type": "application/yaml" },
          // A redirect would turn this into another request to a place that nobody configured.
          redirect: "manual",
          signal: AbortSignal.any([signal, timeout]),
        });
        text = await readReply(response);
      } catch (cause) {
        if (cause instanceof CodedError) throw cause;
        if (signal.aborted) throw new CodedError("cancelled", "The upload was cancelled");
        const why = timeout.aborted ? `did not answer within ${timeoutMs} ms` : "cannot be reached";
        throw new CodedError("unavailable", `The image factory at ${baseUrl} ${why}`, { cause });
      }
      if (!response.ok) throw refusal(response.status, text);
      return readId(text);
    },
  };
}
