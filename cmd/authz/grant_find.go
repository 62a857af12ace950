package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// grantFlags find grants by more than a plain list knows.
type grantFlags struct {
	from, to, expiresFrom, expiresTo, order string
	noExpiry                                bool
}

// grantOrders are the orders by their words, the default first.
var grantOrders = []string{"id", "newest", "expiry"}

func (f *grantFlags) flags(c *cobra.Command, a *admin) {
	c.Flags().String("pattern", "", "only grants of exactly this pattern, such as docs.files.*")
	c.Flags().String("by", "", "only what this user gave or approved")
	c.Flags().StringVar(&f.from, "from", "", "not made before: 2027-01-31, 2027-01-31T17:00:00Z, or a time ago: 8h, 30d")
	c.Flags().StringVar(&f.to, "to", "", "made before: likewise")
	c.Flags().StringVar(&f.expiresFrom, "expires-from", "", "not expiring before: 2027-01-31, 2027-01-31T17:00:00Z, or a time from now: 8h, 30d")
	c.Flags().StringVar(&f.expiresTo, "expires-to", "", "expiring before: likewise")
	c.Flags().BoolVar(&f.noExpiry, "no-expiry", false, "only grants that never expire")
	c.Flags().StringVar(&f.order, "order", "id", "id, newest, or expiry: those that expire, the next one first")
	a.completes(c, "by", userIDs)
	_ = c.RegisterFlagCompletionFunc("order", cobra.FixedCompletions(grantOrders, cobra.ShellCompDirectiveNoFileComp))
}

// add fills in the members of a search, and says whether there are any.
func (f *grantFlags) add(c *cobra.Command, filter fields) (searched bool, err error) {
	now := time.Now()
	for _, bound := range []struct {
		name, flag, text string
		way              time.Duration
	}{{"createdFrom", "from", f.from, -1}, {"createdTo", "to", f.to, -1}, {"expiresFrom", "expires-from", f.expiresFrom, 1}, {"expiresTo", "expires-to", f.expiresTo, 1}} {
		if bound.text == "" {
			continue
		}
		ms, err := parseInstant(bound.text, now, bound.way)
		if err != nil {
			return false, fmt.Errorf("--%s: %w", bound.flag, err)
		}
		filter[bound.name], searched = ms, true
	}
	for _, both := range [][4]string{{"createdFrom", "createdTo", "--from", "--to"}, {"expiresFrom", "expiresTo", "--expires-from", "--expires-to"}} {
		from, bounded := filter[both[0]].(int64)
		if to, also := filter[both[1]].(int64); bounded && also && from >= to {
			return false, usageError{fmt.Errorf("nothing lies between %s and %s: the first must be the earlier one", both[2], both[3])}
		}
	}
	switch f.order {
	case "id":
	case "newest":
		filter["order"], searched = authz.GrantsNewest, true
	case "expiry":
		filter["order"], searched = authz.GrantsExpiring, true
	default:
		advice := ""
		if near := spell.Nearest(f.order, grantOrders); near != "" {
			advice = ": did you mean " + near + "?"
		}
		return false, usageError{fmt.Errorf("--order is id, newest or expiry, not %s%s", spell.Quote(f.order), advice)}
	}
	if f.noExpiry {
		if f.expiresFrom != "" || f.expiresTo != "" || f.order == "expiry" {
			return false, usageError{errors.New("a grant that never expires has no time of expiry: leave --no-expiry out, or the others")}
		}
		filter["expires"], searched = false, true
	}
	return searched || slices.ContainsFunc([]string{"pattern", "by"}, c.Flags().Changed), nil
}
