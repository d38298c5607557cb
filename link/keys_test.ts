// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import { generateKey, isPublicKey, publicKeyOf } from "./keys.ts";

Deno.test("publicKeyOf() agrees with wg pubkey", () => {
  const privateKey = "dwdtCnMYpX08FsFyUbJmRd9ML5LrwJkqwXf7pR25LCo=";
  assert.equal(publicKeyOf(privateKey), "+KlTWi0v9gXo4UTVT071xiMTogVduyH93T/ZwpnrAV0=");
});

Deno.test("generateKey() makes keys that isPublicKey() accepts", () => {
  const { publicKey, privateKey } = generateKey();
  assert.ok(isPublicKey(publicKey));
  assert.equal(publicKeyOf(privateKey), publicKey);
});

Deno.test("isPublicKey() refuses other lengths, forms and the zero key", () => {
  const zero = btoa("\0".repeat(32));
  const texts = ["", "x", zero, zero.slice(0, -4), `${generateKey().publicKey} `];
  for (const text of texts) assert.equal(isPublicKey(text), false, text);
});

Deno.test("publicKeyOf() does not show a malformed key", () => {
  assert.throws(() => publicKeyOf("secret"), (error) => {
    assert.equal(codeOf(error), "invalidArgument");
    return !String(error).includes("secret");
  });
});
