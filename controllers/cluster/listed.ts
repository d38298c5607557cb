// SPDX-License-Identifier: AGPL-3.0-or-later

/** Names resources in messages. @module */

/** The first few IDs, for a message. */
export function listed(
  resources: readonly { readonly metadata: { readonly id: string } }[],
): string {
  const shown = resources.slice(0, 3).map(({ metadata }) => metadata.id).join(", ");
  return resources.length > 3 ? `${shown} and ${resources.length - 3} more` : shown;
}
