// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl infraprovider key`: service keys for infrastructure providers that will not start
 * without one.
 *
 * The server checks no signatures, so a key proves nothing; the provider signs with it and stops
 * signing when it expires.
 *
 * @module
 */

import { Command } from "commander";
import { parseDuration } from "../base/duration.ts";
import { CodedError, codeOf } from "../base/errors.ts";
import { type ConnectOptions, parseEndpoint, withConnection, withState } from "./ctl_connect.ts";
import { usageError } from "./usage.ts";

/** Options of `key`. */
interface KeyOptions extends ConnectOptions {
  readonly ttl: string;
  readonly advertisedEndpoint?: string;
}

/** What OpenPGP has room for. */
const MAX_TTL_SECONDS = 2 ** 32 - 1;

/** The command `infraprovider` with what is under it. */
export function infraProviderCommand(): Command {
  const key = withConnection(new Command("key"))
    .description("make a service key and print it as environment variables")
    .argument("<id>", "infrastructure provider that the server's configuration declares")
    .option("--ttl <duration>", "how long the key is valid, in whole seconds", "8760h")
    .option("--advertised-endpoint <url>", "address at which the provider reaches the server")
    .action((id: string, options: KeyOptions) => runKey(id, options));
  return new Command("infraprovider").description("work on infrastructure providers")
    .addCommand(key);
}

/** Whole seconds of a duration such as `8760h`, or `undefined`. */
function parseTtl(text: string): number | undefined {
  const whole = Math.floor(parseDuration(text) ?? 0);
  return whole >= 1 && whole <= MAX_TTL_SECONDS ? whole : undefined;
}

async function runKey(id: string, options: KeyOptions): Promise<void> {
  // A mistake of the caller must not depend on whether a server answers.
  if (!/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(id)) {
    throw usageError(`a provider's ID is a DNS-1123 label: current value is "${id}"`);
  }
  const seconds = parseTtl(options.ttl);
  if (seconds === undefined) {
    throw usageError(
      `--ttl must be from 1s to ${MAX_TTL_SECONDS}s, for example 8760h: ` +
        `current value is "${options.ttl}"`,
    );
  }
  const endpoint = options.advertisedEndpoint ?? options.endpoint;
  parseEndpoint(endpoint);
  await withState(options, async (state) => {
    try {
      await state.get({
        namespace: "infra-provider",
        type: "InfraProviders.omni.sidero.dev",
        id,
      });
    } catch (cause) {
      if (codeOf(cause) !== "notFound") throw cause;
      throw new CodedError(
        "notFound",
        `Cannot make a key for "${id}": name it in infraProviders of the server's configuration`,
        { cause },
      );
    }
  });
  await printKey(id, endpoint, seconds);
}

async function printKey(id: string, endpoint: string, seconds: number): Promise<void> {
  const { generateKey } = await import("openpgp");
  const { privateKey, publicKey } = await generateKey({
    type: "ecc",
    curve: "ed25519Legacy",
    userIDs: [{ name: id, email: `${id}@infra-provider.serviceaccount.omni.sidero.dev` }],
    keyExpirationTime: seconds,
    format: "armored",
  });
  const key = JSON.stringify({ name: `infra-provider:${id}`, pgp_key: privateKey });
  console.log(`OMNI_ENDPOINT=${endpoint}`);
  console.log(`OMNI_SERVICE_ACCOUNT_KEY=${new TextEncoder().encode(key).toBase64()}`);
  console.log(publicKey.trim());
  console.error(
    "batuta: the server does not check signatures; the provider stops signing when the key " +
      `expires in ${seconds} seconds: make another one in time and restart it`,
  );
}
