// SPDX-License-Identifier: AGPL-3.0-or-later

// The command line of the public client, as its own releases build it.
package main

import (
	"os"

	"github.com/siderolabs/omni/client/pkg/omnictl"
)

func main() {
	if err := omnictl.RootCmd.Execute(); err != nil {
		os.Exit(1)
	}
}
