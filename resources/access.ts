// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a type says that clients may write it.
 *
 * @module
 */

import type { DescMessage } from "@bufbuild/protobuf";
import type { Validator } from "../cosi/resource.ts";

/**
 * Access of a type that clients write.
 *
 * @param validate Accepts or refuses a change; a type without rules accepts every one.
 */
export function writable<S extends DescMessage>(
  validate: Validator<S> = () => {},
): { readonly validate: Validator<S> } {
  return { validate };
}
