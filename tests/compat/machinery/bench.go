// SPDX-License-Identifier: AGPL-3.0-or-later

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
)

// measureFor is how long each figure is measured.
const measureFor = 2 * time.Second

// bench measures on one core what "tests/bench/config_bench.ts" measures.
func bench(bundleFile string, patchFiles []string) error {
	runtime.GOMAXPROCS(1)

	question := Question{
		BundleFile:        bundleFile,
		ClusterName:       "bench",
		Endpoint:          "https://bench.example.org:6443",
		KubernetesVersion: "1.33.1",
		Contract:          "v1.12",
		MachineType:       "controlplane",
		Options:           Options{InstallDisk: "/dev/sda"},
	}

	input, machineType, err := newInput(question)
	if err != nil {
		return err
	}

	if err = measure("generate", func() error {
		cfg, err := input.Config(machineType)
		if err != nil {
			return err
		}

		_, err = cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))

		return err
	}); err != nil {
		return err
	}

	texts := make([][]byte, 0, len(patchFiles))

	for _, file := range patchFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}

		texts = append(texts, text)
	}

	cfg, err := input.Config(machineType)
	if err != nil {
		return err
	}

	base, err := cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return err
	}

	return measure("patch", func() error {
		patches := make([]configpatcher.Patch, 0, len(texts))

		for _, text := range texts {
			patch, err := configpatcher.LoadPatch(text)
			if err != nil {
				return err
			}

			patches = append(patches, patch)
		}

		out, err := configpatcher.Apply(configpatcher.WithBytes(base), patches)
		if err != nil {
			return err
		}

		_, err = out.Bytes()

		return err
	})
}

func measure(name string, run func() error) error {
	for range 20 {
		if err := run(); err != nil {
			return err
		}
	}

	start := time.Now()
	count := 0

	for time.Since(start) < measureFor {
		if err := run(); err != nil {
			return err
		}

		count++
	}

	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"name":  fmt.Sprintf("config %s (Go machinery)", name),
		"value": float64(count) / time.Since(start).Seconds(),
		"unit":  "1/s",
	})
}
