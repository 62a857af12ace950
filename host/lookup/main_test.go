package lookup_test

import (
	"os"
	"testing"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
