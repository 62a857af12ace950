package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
)

func newContext() *cobra.Command {
	c := &cobra.Command{
		Use: "context", Short: "Name hosts that commands go to", Args: cobra.NoArgs, RunE: showHelp,
		Long: `Name the hosts that commands go to over the network: a URL, an org or an application, and the
file that holds the token. The token itself is never kept here. A command takes --with-context NAME,
else AUTHZ_CONTEXT, else the name of 'authz context use'. Beside --url, --org, --socket
or --config no context is looked at, nor is the one in use beside AUTHZ_SOCKET or AUTHZ_CONFIG.`,
	}
	c.AddCommand(newContextAdd(), newContextUse(), newContextList(), newContextRemove())
	return c
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func newContextAdd() *cobra.Command {
	t := &target{}
	var one savedContext
	c := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Name a host, with the file that holds its token",
		Long: `Name a host. With --org commands ask its hosted API, with the key in --token-file or else that
of 'authz login'; without, its provider API, with the secret in --token-file. Paths are kept
whole, so that the name means the same in every folder.`,
		Example: `  authz context add docs --url https://authz.example/apps/docs --token-file docs.secret
  authz context add acme --url https://authz.example --org acme`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			one.Name, one.URL, one.Org, one.App = args[0], normalURL(t.url), t.org, t.app
			if !contextName.MatchString(one.Name) {
				return usageError{fmt.Errorf("%s is no name of a context: letters, digits, dots, - and _, 63 at most", spell.Quote(one.Name))}
			}
			if err := checkURL(t.url); err != nil {
				return usageError{err}
			}
			if t.org == "" && t.tokenFile == "" {
				return usageError{errors.New("name the file that holds the token with --token-file, or with --org use the key of 'authz login'")}
			}
			if t.tokenFile != "" {
				if _, err := readToken(t.tokenFile); err != nil { // a context that cannot work is told now
					return err
				}
			}
			if one.TokenFile, err = kept(t.tokenFile); err != nil {
				return err
			}
			if one.CAFile, err = kept(t.caFile); err != nil {
				return err
			}
			err = changeContexts(func(s *savedContexts) error {
				if _, err := s.find(one.Name); err == nil {
					return usageError{fmt.Errorf("there is a context %s already: 'authz context remove %s' first", one.Name, one.Name)}
				}
				s.Contexts = append(s.Contexts, one)
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is %s. Use it with --with-context %s, or for every command: authz context use %s\n", one.Name, one.URL, one.Name, one.Name)
			return nil
		},
	}
	c.Flags().StringVar(&t.url, "url", "", "the provider API, such as https://authz.example/apps/docs, or with --org the host")
	c.Flags().Var(named{&t.org}, "org", "the org at the host's hosted API")
	c.Flags().Var(named{&t.app}, "app", "the application, where the URL does not say it")
	c.Flags().Var(named{&t.tokenFile}, "token-file", "the file that holds the token")
	_ = c.RegisterFlagCompletionFunc("org", orgsLoggedInTo)
	_ = c.MarkFlagFilename("token-file")
	t.addCAFile(c)
	needs(c, "url")
	return c
}

func newContextUse() *cobra.Command {
	var none bool
	c := &cobra.Command{
		Use:   "use (NAME | --none)",
		Short: "Have every command go to a named host",
		Long:  `Have every command go to the host of a context unless its flags say otherwise; with --none to the host of this machine again.`,
		Example: `  authz context use docs
  authz context use --none`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if none == (len(args) == 1) {
				return usageError{errors.New("name a context, or give --none")}
			}
			err := changeContexts(func(s *savedContexts) error {
				if s.Current = ""; none {
					return nil
				}
				one, err := s.find(args[0])
				s.Current = one.Name
				return err
			})
			if err != nil {
				return err
			}
			if none {
				fmt.Fprintln(c.OutOrStdout(), "commands ask the host of this machine")
			} else {
				fmt.Fprintf(c.OutOrStdout(), "commands go to %s\n", args[0])
			}
			return nil
		},
		ValidArgsFunction: contextNames,
	}
	c.Flags().BoolVar(&none, "none", false, "use none")
	return c
}

func newContextList() *cobra.Command {
	o := &outputFlag{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the names of hosts",
		Example: `  authz context list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			saved, err := readContexts()
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), saved, func(w io.Writer) {
				rows := [][]string{{"NAME", "IN USE", "URL", "ORG", "APP", "TOKEN FILE"}}
				for _, one := range saved.Contexts {
					use := ""
					if one.Name == saved.Current {
						use = "yes"
					}
					rows = append(rows, []string{one.Name, use, one.URL, orDash(one.Org), orDash(one.App), orDash(one.TokenFile)})
				}
				table(w, rows)
			})
		},
	}
	o.add(c)
	return c
}

func newContextRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget the name of a host",
		Long:    `Forget the name of a host. The file that holds its token stays where it is.`,
		Example: `  authz context remove docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var gone savedContext
			err := changeContexts(func(s *savedContexts) (err error) {
				if gone, err = s.find(args[0]); err != nil {
					return err
				}
				s.Contexts = slices.DeleteFunc(s.Contexts, func(one savedContext) bool { return one.Name == gone.Name })
				if s.Current == gone.Name {
					s.Current = ""
				}
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is forgotten", gone.Name)
			if gone.TokenFile != "" {
				fmt.Fprintf(c.OutOrStdout(), "; its token is in %s still", words.Shell(gone.TokenFile))
			}
			fmt.Fprintln(c.OutOrStdout())
			return nil
		},
		ValidArgsFunction: contextNames,
	}
}
