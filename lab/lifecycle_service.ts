// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Installing and upgrading by calls of their own, as machines do from Talos 1.13 on.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import {
  ImageService,
  LifecycleService,
  type LifecycleServiceInstallProgressSchema,
} from "../proto/gen/talos/machine_pb.ts";
import { implementService, type Service } from "../rpc/service.ts";
import type { Boot } from "./boot.ts";
import { readInstallerImage } from "./disk.ts";
import { replaceSystem } from "./machine_service.ts";
import { checkReady } from "./power.ts";
import { setStage } from "./status.ts";
import { publishSystemDisk } from "./volumes.ts";

type Progress = { progress: MessageInitShape<typeof LifecycleServiceInstallProgressSchema> };

function message(value: string): Progress {
  return {
    progress: { response: { case: "message", value } },
  };
}
function exitCode(value: number): Progress {
  return {
    progress: { response: { case: "exitCode", value } },
  };
}

/** Serves `machine.LifecycleService`. Neither call reboots. */
export function lifecycleService(boot: Boot): Service {
  return implementService(LifecycleService, {
    install: async function* ({ source, destination }) {
      const image = checkSource(boot, source?.imageName ?? "");
      if (boot.core.disk.installation !== undefined) {
        throw new CodedError("alreadyExists", "Talos is already installed");
      }
      const disk = destination?.disk ?? "";
      if (!boot.core.hardware.disks.some(({ name }) => `/dev/${name}` === disk)) {
        throw new CodedError("invalidArgument", `install disk "${disk}" does not exist`);
      }
      yield* working(boot, "install", () => {
        const installer = readInstallerImage(image);
        if (installer === undefined) return false;
        boot.core.disk.installation = { disk, image, ...installer };
        for (const [key, value] of boot.meta) boot.core.disk.meta.set(key, value);
        if (boot.config !== undefined) boot.core.disk.config = boot.config.text;
        publishSystemDisk(boot);
        return true;
      });
    },
    upgrade: async function* ({ source }) {
      const image = checkSource(boot, source?.imageName ?? "");
      if (boot.core.disk.installation === undefined) {
        throw new CodedError("failedPrecondition", "Talos is not installed");
      }
      yield* working(boot, "upgrade", () => {
        boot.busyWith = undefined;
        replaceSystem(boot, image);
        return true;
      });
    },
  });
}

/** Serves `machine.ImageService`. */
export function imageService(boot: Boot): Service {
  return implementService(ImageService, {
    list: async function* () {
      for (const name of boot.images) yield await Promise.resolve({ name, size: 1_000_000n });
    },
    pull: async function* ({ imageRef }) {
      if (!/^[^\s]+:[^\s:/]+$/.test(imageRef)) {
        throw new CodedError("invalidArgument", `invalid image reference "${imageRef}"`);
      }
      await boot.core.clock.sleep(boot.core.pace.applyMs, boot.signal);
      boot.images.add(imageRef);
      yield { response: { case: "name", value: imageRef } };
    },
    remove: ({ imageRef }) => {
      if (!boot.images.delete(imageRef)) {
        throw new CodedError("notFound", `image "${imageRef}" not found`);
      }
      return {};
    },
  });
}

function checkSource(boot: Boot, image: string): string {
  checkReady(boot);
  if (image === "") throw new CodedError("invalidArgument", "source image is required");
  if (!boot.images.has(image)) {
    throw new CodedError("notFound", `image "${image}" not found: it must be pulled first`);
  }
  return image;
}

async function* working(
  boot: Boot,
  what: "install" | "upgrade",
  finish: () => boolean,
): AsyncGenerator<Progress> {
  const before = boot.stage;
  boot.busyWith = what;
  try {
    setStage(boot, what === "install" ? "installing" : "upgrading");
    yield message(`running ${what}`);
    await boot.core.clock.sleep(boot.core.pace.installMs, boot.signal);
    boot.signal.throwIfAborted();
    const isDone = finish();
    yield message(isDone ? `${what} done` : `${what} failed: the image has no version`);
    yield exitCode(isDone ? 0 : 1);
  } finally {
    boot.busyWith = undefined;
    if (!boot.signal.aborted) setStage(boot, before);
  }
}
