package relational

import "strings"

// Shortened are the columns of AuditTable, each behind a prefix such as `t.`, without a
// detail that is known to be longer than the parameter limit; "" is no limit. Entries of
// version 4 have no lengths: whoever reads them leaves their details out.
func Shortened(prefix, limit string) string {
	list := make([]string, len(Audit.Columns))
	for i, c := range Audit.Columns {
		list[i] = prefix + `"` + c + `"`
		if c == "detail" && limit != "" {
			list[i] = "case when " + prefix + `"detailBytes" > ` + limit + " then null else " + list[i] + " end"
		}
	}
	return strings.Join(list, ", ")
}
