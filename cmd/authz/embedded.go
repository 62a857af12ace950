package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/cmd/authz/carried"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/plugin"
)

func carriedNames() []string { return slices.Sorted(maps.Keys(carried.Plugins)) }

const serveCommand = "plugin-serve"

// self is how Linux names the program that is running, even when an upgrade has
// put another one in its place: the host and the plugins it carries stay one
// version.
const self = "/proc/self/exe"

// embedded says how a host starts what its own binary carries.
func embedded() (map[string]pluginhost.Command, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's own file cannot be found: %w", err)
	}
	file := self
	if !exists(file) {
		file = ""
	}
	commands := make(map[string]pluginhost.Command, len(carried.Plugins))
	for name := range carried.Plugins {
		commands[name] = pluginhost.Command{Path: path, File: file, Args: []string{serveCommand, name}}
	}
	return commands, nil
}

func newPluginServe() *cobra.Command {
	return &cobra.Command{
		Use:    serveCommand + " NAME",
		Short:  "Be one of the plugins that this program carries; hosts do this",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, ok := carried.Plugins[args[0]]
			if !ok {
				return usageError{fmt.Errorf("this program carries no plugin %q, only %s", args[0], strings.Join(carriedNames(), ", "))}
			}
			plugin.Serve(p(version)) // ends the process
			return nil
		},
	}
}
