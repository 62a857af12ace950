package relational

import (
	"strconv"
	"strings"
)

// Shortened are the columns of AuditTable, each behind a prefix such as `t.`, without a
// detail that is known to be longer than limit; nil is no limit. Entries of version 4 have
// no lengths: whoever reads them leaves their details out.
func Shortened(prefix string, limit *int64) string {
	list := make([]string, len(Audit.Columns))
	for i, c := range Audit.Columns {
		list[i] = prefix + `"` + c + `"`
		if c == "detail" && limit != nil {
			list[i] = "case when " + prefix + `"detailBytes" > ` + strconv.FormatInt(*limit, 10) + " then null else " + list[i] + " end"
		}
	}
	return strings.Join(list, ", ")
}
