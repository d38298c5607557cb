// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Cuts text into lines.
 *
 * @module
 */

/** Hands on lines without their ends; what stands behind the last one is a line too. */
export class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(chunk, controller) {
        const lines = `${rest}${chunk}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller) {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}
