// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Fetches the keys of the state from where the configuration says they are.
 *
 * @module
 */

import { join } from "node:path";
import { CodedError } from "../../base/errors.ts";
import { Secret } from "../../base/redact.ts";

/** Where a key comes from; exactly one of the two is given. */
export interface KeySource {
  readonly env?: string | undefined;
  readonly credential?: string | undefined;
}

/** The keys of the state, 32 bytes each. */
export interface StateKeys {
  /** The key that writes; absent for a state that reaches no disk. */
  readonly current: Secret<Uint8Array> | undefined;
  /** Keys that only read what was written before. */
  readonly previous: readonly Secret<Uint8Array>[];
}

/** The environment that keys come from. */
export interface KeyEnvironment {
  readonly env: (name: string) => string | undefined;
  readonly readFile: (path: string) => string;
}

/** The environment of the process. */
const processKeyEnvironment: KeyEnvironment = {
  env: (name) => Deno.env.get(name),
  readFile: (path) => Deno.readTextFileSync(path),
};

/**
 * Fetches all keys.
 *
 * @throws CodedError `invalidArgument` naming the source and what is wrong with it, never the value.
 */
export function readStateKeys(
  sources: KeySource & { readonly previous: readonly KeySource[] },
  environment: KeyEnvironment = processKeyEnvironment,
): StateKeys {
  const none = sources.env === undefined && sources.credential === undefined;
  return {
    current: none ? undefined : readKey("state.key", sources, environment),
    previous: sources.previous.map((source, index) =>
      readKey(`state.key.previous[${index}]`, source, environment)
    ),
  };
}

function readKey(
  path: string,
  { env, credential }: KeySource,
  environment: KeyEnvironment,
): Secret<Uint8Array> {
  if (env !== undefined) {
    const text = environment.env(env);
    if (text === undefined) throw refuse(`${path}.env`, `variable "${env}" is not set`);
    return decodeKey(`${path}.env`, `variable "${env}"`, text);
  }
  const name = credential ?? "";
  const directory = environment.env("CREDENTIALS_DIRECTORY");
  if (directory === undefined) {
    throw refuse(`${path}.credential`, "the service manager passed no credentials directory");
  }
  if (name.includes("/")) throw refuse(`${path}.credential`, `"${name}" is no credential's name`);
  let text: string;
  try {
    text = environment.readFile(join(directory, name));
  } catch (cause) {
    throw refuse(`${path}.credential`, `credential "${name}" cannot be read`, cause);
  }
  return decodeKey(`${path}.credential`, `credential "${name}"`, text);
}

function decodeKey(path: string, what: string, text: string): Secret<Uint8Array> {
  const bytes = decodeBase64(text.trim());
  if (bytes?.length === 32) return new Secret(bytes);
  throw refuse(
    path,
    `${what} must hold 32 bytes in base64, as from "head -c 32 /dev/urandom | base64"`,
  );
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

function refuse(path: string, problem: string, cause?: unknown): CodedError {
  const message = `Cannot read the key of the state from ${path}: ${problem}`;
  return new CodedError("invalidArgument", message, cause === undefined ? {} : { cause });
}
