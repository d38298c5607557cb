// SPDX-License-Identifier: AGPL-3.0-or-later

import { ok, strictEqual } from "node:assert/strict";
import { type InstallerFields, parseInstallerTemplate } from "./installer_template.ts";

const FIELDS: InstallerFields = {
  Host: "factory.example",
  Platform: "metal",
  SecureBoot: true,
  Schematic: "3765",
  Version: "11.0",
};

const VALID: readonly (readonly [string, string])[] = [
  ["{{.Host}}/a/{{ .Schematic }}:v{{$.Version}}", "factory.example/a/3765:v11.0"],
  ["{{.Platform}}-installer{{if .SecureBoot}}-secureboot{{end}}", "metal-installer-secureboot"],
  ["{{if not .SecureBoot}}a{{else}}b{{end}}", "b"],
  ['{{if eq .Platform "aws"}}a{{else if eq .Platform "metal"}}m{{else}}o{{end}}', "m"],
  ["a  {{- .Version -}}  b", "a11.0b"],
  ["{{/* note */}}x{{.SecureBoot}}", "xtrue"],
  ['{{and .SecureBoot "yes"}}', "yes"],
  ["{{if (and .SecureBoot (ne .Version `12`))}}t{{end}}", "t"],
];

const INVALID: readonly string[] = [
  "{{.Host",
  "{{}}",
  "{{.Name}}",
  "{{.Host.Port}}",
  "{{.}}",
  "{{$x}}",
  "{{if .SecureBoot}}",
  "{{end}}",
  "{{if .SecureBoot}}{{else}}{{else}}{{end}}",
  "{{range .Host}}{{end}}",
  "{{.Host | printf}}",
  "{{not}}",
  '{{eq .Host "a}}',
];

for (const [template, text] of VALID) {
  Deno.test(`parseInstallerTemplate() renders ${template}`, () => {
    const parsed = parseInstallerTemplate(template);
    ok("ok" in parsed, "rule" in parsed ? parsed.rule : "");
    strictEqual(parsed.ok?.(FIELDS), text);
  });
}

for (const template of INVALID) {
  Deno.test(`parseInstallerTemplate() refuses ${template}`, () => {
    ok("rule" in parseInstallerTemplate(template));
  });
}
