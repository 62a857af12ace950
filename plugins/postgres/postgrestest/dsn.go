package postgrestest

import (
	"net/url"
	"strings"
)

// withDatabase names another database in a DSN of either form. In the form of
// words the last one of a name counts.
func withDatabase(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}
