package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
)

func newBilling() *cobra.Command {
	c := &cobra.Command{Use: "billing", Short: "What the org uses, and its caps", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newBillingUsage(), newBillingCap())
	return c
}

func dimensionRow(d billing.Dimension) []string {
	limit := "none"
	if d.Cap != nil {
		limit = strconv.FormatInt(*d.Cap, 10)
	}
	return []string{d.Dimension, string(d.Kind), strconv.FormatInt(d.Value, 10), limit, string(d.State), textOr(d.Degraded)}
}

var dimensionHeader = []string{"DIMENSION", "KIND", "VALUE", "CAP", "STATE", "HELD BACK"}

func newBillingUsage() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show every meter of this month with its cap",
		Long: `Show every meter with its cap. Standing ones count what is there now, the others what came in
the calendar month (UTC). Checks are not metered, and no cap ever touches one.`,
		Example: `  authz billing usage`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			var usage billing.Usage
			if err := h.Ask(c.Context(), http.MethodGet, []string{"billing", "usage"}, nil, nil, &usage); err != nil {
				return err
			}
			return a.printed(c, usage, func(w io.Writer) {
				fmt.Fprintf(w, "%s to %s\n\n", words.Instant(usage.PeriodStart), words.Instant(usage.PeriodEnd))
				rows := [][]string{dimensionHeader}
				for _, d := range usage.Dimensions {
					rows = append(rows, dimensionRow(d))
				}
				table(w, rows)
			})
		}),
	}
	a.hostedOnly(c)
	return c
}

func newBillingCap() *cobra.Command {
	a := &admin{}
	var none bool
	c := &cobra.Command{
		Use:   "cap DIMENSION (N | --none)",
		Short: "Set the cap of a meter, or take it away",
		Long: `Set the cap of a meter, or take it away with --none. A reached cap refuses more of the same and
slows what the service does by itself; nothing that is there stops working.`,
		Example: `  authz billing cap admin_seats 10
  authz billing cap admin_seats --none`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := exactlyOne("N and --none", len(args) > 1, none); err != nil {
				return err
			}
			in := fields{"cap": nil}
			if len(args) > 1 {
				n, err := strconv.ParseInt(args[1], 10, 64)
				if err != nil || n < 0 {
					return usageError{fmt.Errorf("the cap must be a whole number from 0 on, not %q", args[1])}
				}
				in["cap"] = n
			}
			h, err := a.service(c)
			if err != nil {
				return err
			}
			var d billing.Dimension
			if err := h.Ask(c.Context(), http.MethodPut, []string{"billing", "caps", args[0]}, nil, in, &d); err != nil {
				return err
			}
			return a.printed(c, d, func(w io.Writer) { table(w, [][]string{dimensionHeader, dimensionRow(d)}) })
		},
	}
	c.ValidArgsFunction = first(cobra.FixedCompletions([]string{
		billing.AdminSeats, billing.LinkedApplications, billing.FederatedApplications, billing.ProvisionedConnectors,
		billing.RetainedAuditEvents, billing.CatalogPublishes, billing.ReadModelSyncs}, cobra.ShellCompDirectiveNoFileComp))
	a.hostedOnly(c)
	c.Flags().BoolVar(&none, "none", false, "no cap")
	return c
}
