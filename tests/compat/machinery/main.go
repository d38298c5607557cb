// SPDX-License-Identifier: AGPL-3.0-or-later

// Command machinery answers questions about machine configurations with Talos's own library.
//
// It reads one JSON object a line from standard input and writes one for each. With the argument
// "bench" it measures instead, and prints one figure a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
)

// Question is a line of input.
type Question struct {
	// Inputs of a generation; empty when Config alone is to be checked.
	BundleFile        string  `json:"bundleFile"`
	ClusterName       string  `json:"clusterName"`
	Endpoint          string  `json:"endpoint"`
	KubernetesVersion string  `json:"kubernetesVersion"`
	Contract          string  `json:"contract"`
	MachineType       string  `json:"machineType"`
	Options           Options `json:"options"`
	// Patches that are applied to the generated configuration.
	Patches []string `json:"patches"`
	// Config is loaded strictly and validated for metal.
	Config string `json:"config"`
}

// Options have the names of the input files of "batuta config".
type Options struct {
	InstallDisk                    string              `json:"installDisk"`
	InstallImage                   string              `json:"installImage"`
	InstallExtraKernelArgs         []string            `json:"installExtraKernelArgs"`
	AdditionalSubjectAltNames      []string            `json:"additionalSubjectAltNames"`
	AllowSchedulingOnControlPlanes bool                `json:"allowSchedulingOnControlPlanes"`
	DNSDomain                      string              `json:"dnsDomain"`
	LocalAPIServerPort             int                 `json:"localAPIServerPort"`
	KubePrismPort                  *int                `json:"kubePrismPort"`
	Sysctls                        map[string]string   `json:"sysctls"`
	CustomCNIURL                   string              `json:"customCNIURL"`
	RegistryMirrors                map[string][]string `json:"registryMirrors"`
	RegistryInsecureSkipVerify     []string            `json:"registryInsecureSkipVerify"`
	Debug                          bool                `json:"debug"`
	ClusterDiscovery               *bool               `json:"clusterDiscovery"`
	HostDNSForwardKubeDNSToHost    *bool               `json:"hostDNSForwardKubeDNSToHost"`
	KubeSpanEnabled                *bool               `json:"kubeSpanEnabled"`
}

// Answer is a line of output.
type Answer struct {
	Generated       string `json:"generated,omitempty"`
	GenerateError   string `json:"generateError,omitempty"`
	LoadError       string `json:"loadError,omitempty"`
	ValidationError string `json:"validationError,omitempty"`
}

// metalMode needs an installation and is no container.
type metalMode struct{}

func (metalMode) String() string        { return "metal" }
func (metalMode) RequiresInstall() bool { return true }
func (metalMode) InContainer() bool     { return false }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		if err := bench(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		return
	}

	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<24)

	out := json.NewEncoder(os.Stdout)

	for scanner.Scan() {
		var question Question

		if err := json.Unmarshal(scanner.Bytes(), &question); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		if err := out.Encode(answer(question)); err != nil {
			os.Exit(1)
		}
	}
}

func answer(question Question) Answer {
	var result Answer

	if question.BundleFile != "" {
		text, err := generateText(question)
		if err != nil {
			result.GenerateError = err.Error()
		}

		result.Generated = text
	}

	cfg, err := configloader.NewFromBytes([]byte(question.Config))
	if err != nil {
		result.LoadError = err.Error()

		return result
	}

	if _, err = cfg.Validate(metalMode{}, validation.WithLocal(), validation.WithStrict()); err != nil {
		result.ValidationError = err.Error()
	}

	return result
}

func generateText(question Question) (string, error) {
	input, machineType, err := newInput(question)
	if err != nil {
		return "", err
	}

	cfg, err := input.Config(machineType)
	if err != nil {
		return "", err
	}

	if len(question.Patches) > 0 {
		patches := make([]configpatcher.Patch, 0, len(question.Patches))

		for _, text := range question.Patches {
			patch, err := configpatcher.LoadPatch([]byte(text))
			if err != nil {
				return "", err
			}

			patches = append(patches, patch)
		}

		out, err := configpatcher.Apply(configpatcher.WithConfig(cfg), patches)
		if err != nil {
			return "", err
		}

		text, err := out.Bytes()

		return string(text), err
	}

	text, err := cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))

	return string(text), err
}

func newInput(question Question) (*generate.Input, machine.Type, error) {
	bundle, err := secrets.LoadBundle(question.BundleFile)
	if err != nil {
		return nil, 0, err
	}

	contract, err := config.ParseContractFromVersion(question.Contract)
	if err != nil {
		return nil, 0, err
	}

	machineType, err := machine.ParseType(question.MachineType)
	if err != nil {
		return nil, 0, err
	}

	options := append(generateOptions(question.Options),
		generate.WithVersionContract(contract), generate.WithSecretsBundle(bundle))

	input, err := generate.NewInput(question.ClusterName, question.Endpoint, question.KubernetesVersion, options...)

	return input, machineType, err
}

func generateOptions(o Options) []generate.Option {
	options := []generate.Option{
		generate.WithInstallDisk(o.InstallDisk),
		generate.WithInstallImage(o.InstallImage),
		generate.WithInstallExtraKernelArgs(o.InstallExtraKernelArgs),
		generate.WithAdditionalSubjectAltNames(o.AdditionalSubjectAltNames),
		generate.WithAllowSchedulingOnControlPlanes(o.AllowSchedulingOnControlPlanes),
		generate.WithLocalAPIServerPort(o.LocalAPIServerPort),
		generate.WithDebug(o.Debug),
	}

	if o.DNSDomain != "" {
		options = append(options, generate.WithDNSDomain(o.DNSDomain))
	}

	if o.KubeSpanEnabled != nil {
		options = append(options, generate.WithKubeSpanEnabled(*o.KubeSpanEnabled))
	}

	if o.KubePrismPort != nil {
		options = append(options, generate.WithKubePrismPort(*o.KubePrismPort))
	}

	if len(o.Sysctls) > 0 {
		options = append(options, generate.WithSysctls(o.Sysctls))
	}

	if o.CustomCNIURL != "" {
		options = append(options, generate.WithClusterCNIConfig(&v1alpha1.CNIConfig{
			CNIName: "custom",
			CNIUrls: []string{o.CustomCNIURL},
		}))
	}

	for host, endpoints := range o.RegistryMirrors {
		options = append(options, generate.WithRegistryMirror(host, endpoints...))
	}

	for _, host := range o.RegistryInsecureSkipVerify {
		options = append(options, generate.WithRegistryInsecureSkipVerify(host))
	}

	if o.ClusterDiscovery != nil {
		options = append(options, generate.WithClusterDiscovery(*o.ClusterDiscovery))
	}

	if o.HostDNSForwardKubeDNSToHost != nil {
		options = append(options, generate.WithHostDNSForwardKubeDNSToHost(*o.HostDNSForwardKubeDNSToHost))
	}

	return options
}
