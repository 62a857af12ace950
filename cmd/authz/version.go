package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/provider"
)

func newVersion() *cobra.Command {
	o := &outputFlag{}
	third := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the wires it speaks and the plugins it carries",
		Example: `  authz version
  authz version --notices`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if third {
				return o.print(c.OutOrStdout(), map[string]string{"notices": notices.Text}, func(w io.Writer) { fmt.Fprint(w, notices.Text) })
			}
			v := struct {
				Version        string   `json:"version"`
				ProviderAPI    int      `json:"providerApi"`
				PluginProtocol []int    `json:"pluginProtocol"`
				Plugins        []string `json:"plugins"`
				Go             string   `json:"go"`
				Platform       string   `json:"platform"`
			}{version, provider.APIVersion, plugin.SpokenVersions(), carriedNames(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return o.print(c.OutOrStdout(), v, func(w io.Writer) {
				fmt.Fprintf(w, "authz %s\nprovider API %d, plugin protocol %v\ncarries the plugins %s\n%s %s\n", v.Version, v.ProviderAPI, v.PluginProtocol,
					strings.Join(v.Plugins, ", "), v.Go, v.Platform)
			})
		},
	}
	o.add(c)
	c.Flags().BoolVar(&third, "notices", false, "print the licences and notices of the modules that it is made of")
	return c
}
