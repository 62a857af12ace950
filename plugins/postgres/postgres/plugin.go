package postgres

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// capabilities are what a database with every table has.
var capabilities = storage.Capabilities{
	storage.CapEvents, storage.CapHistory, storage.CapImports, storage.CapMetrics, storage.CapBatchRoles, storage.CapExpand,
	storage.CapAncestry, storage.CapAncestors, storage.CapLookups, storage.CapRecords, storage.CapAuditSubjects,
	storage.CapWatch, storage.CapRenewal, storage.CapHealth,
}

// Plugin is what the binary of this driver serves.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    "postgres",
		Version: version,
		Storage: plugin.StorageKind{Capabilities: capabilities, Configure: configure},
		Check: func(config map[string]any) error {
			o, err := optionsOf(config)
			if err == nil {
				err = o.check()
			}
			if err == nil {
				_, err = poolConfig(o)
			}
			return err
		},
		ConfigSchema: []plugin.Setting{
			{Name: "dsn", Type: plugin.TypeString, Required: true, Secret: true,
				Description: `connection string: "postgres://user:password@host:5432/database?sslmode=verify-full", or its keyword form`},
			{Name: "schema", Type: plugin.TypeString, Default: defaultSchema,
				Description: "schema of the database that holds the tables; made when missing"},
			{Name: "lock", Type: plugin.TypeString, Default: string(LockTable),
				Description: `"table": exclusive sections hold across all hosts on the database; "none": within this process only, for one host alone`},
			{Name: "lease", Type: plugin.TypeDuration, Default: storage.DefaultLease,
				Description: "how long an exclusive section is held without a sign of life from its holder"},
			{Name: "max_connections", Type: plugin.TypeInteger, Default: int64(defaultConnections),
				Description: "most connections to the server at once, one for notifications not counted"},
			{Name: "migrate", Type: plugin.TypeBoolean, Default: false,
				Description: "move a database of an older schema version to the present one when it is opened"},
			{Name: "statement_cache", Type: plugin.TypeBoolean, Default: true,
				Description: "prepared statements and session settings; false behind a pooler that shares connections between transactions, such as PgBouncer"},
		},
	}
}

func configure(ctx context.Context, config map[string]any) (storage.Driver, error) {
	o, err := optionsOf(config)
	if err != nil {
		return nil, err
	}
	return New(ctx, o)
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) (o Options, err error) {
	o.DSN, _ = config["dsn"].(string)
	o.Schema, _ = config["schema"].(string)
	lock, _ := config["lock"].(string)
	o.Lock = Lock(lock)
	o.Lease, _ = config["lease"].(time.Duration)
	if connections, ok := config["max_connections"].(int64); ok {
		if connections < minConnections || connections > maxConnections {
			return o, refuse("max_connections", "must be between %d and %d", minConnections, maxConnections)
		}
		o.MaxConnections = int(connections)
	}
	if o.Lease <= 0 {
		return o, refuse("lease", "must be longer than zero")
	}
	o.Migrate, _ = config["migrate"].(bool)
	cached, given := config["statement_cache"].(bool)
	o.NoStatementCache = given && !cached
	return o, nil
}
