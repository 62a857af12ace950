package scim

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

const importerName = "scim"

// The names of the settings.
const (
	settingBaseURL      = "base_url"
	settingToken        = "token"
	settingUsername     = "username"
	settingPassword     = "password"
	settingTokenURL     = "token_url"
	settingClientID     = "client_id"
	settingClientSecret = "client_secret"
	settingScopes       = "scopes"
	settingCAFile       = "ca_file"
	settingUserFilter   = "user_filter"
	settingGroupFilter  = "group_filter"
	settingUserID       = "user_id"
	settingGroupID      = "group_id"
	settingGroups       = "groups"
	settingManager      = "manager"
	settingOrgs         = "org_attributes"
	settingPaging       = "paging"
	settingPageSize     = "page_size"
	settingPageOverlap  = "page_overlap"
	settingMaxEntries   = "max_entries"
	settingMaxResponse  = "max_response_bytes"
	settingMaxRetries   = "max_retries"
	settingTimeout      = "timeout"
	settingRequest      = "request_timeout"
)

// Plugin is the importer as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    importerName,
		Version: version,
		Importer: plugin.ImporterKind{
			Capabilities: []directory.ImporterCapability{directory.CapUsers, directory.CapGroups,
				directory.CapMemberships, directory.CapReporting, directory.CapOrgs},
			Configure: func(_ context.Context, config map[string]any) (directory.Importer, error) {
				return Open(optionsOf(config))
			},
		},
		Check: func(config map[string]any) error {
			_, err := check(optionsOf(config))
			return err
		},
		ConfigSchema: []plugin.Setting{
			{Name: settingBaseURL, Type: plugin.TypeString, Required: true,
				Description: "Where the service is, such as https://directory.example/scim/v2; http on this machine only."},
			{Name: settingToken, Type: plugin.TypeString, Secret: true, Description: "The bearer token to send."},
			{Name: settingUsername, Type: plugin.TypeString, Description: "The user name of basic authentication."},
			{Name: settingPassword, Type: plugin.TypeString, Secret: true, Description: "Its password."},
			{Name: settingTokenURL, Type: plugin.TypeString,
				Description: "Where a token is fetched with client credentials (OAuth 2.0); http on this machine only."},
			{Name: settingClientID, Type: plugin.TypeString, Description: "The client's id there."},
			{Name: settingClientSecret, Type: plugin.TypeString, Secret: true, Description: "The client's secret there."},
			{Name: settingScopes, Type: plugin.TypeStrings, Description: "The scopes to ask for there."},
			{Name: settingCAFile, Type: plugin.TypeString,
				Description: "Authorities to trust instead of the system's, PEM."},
			{Name: settingUserFilter, Type: plugin.TypeString, Description: `A SCIM filter of the people to read, such as userType eq "Employee".`},
			{Name: settingGroupFilter, Type: plugin.TypeString, Description: "A SCIM filter of the groups to read."},
			{Name: settingUserID, Type: plugin.TypeString, Default: "id",
				Description: `Which attribute is the user id: "id", "userName" or "externalId".`},
			{Name: settingGroupID, Type: plugin.TypeString, Default: "id",
				Description: `Which attribute is the group id: "id", "displayName" or "externalId".`},
			{Name: settingGroups, Type: plugin.TypeBoolean, Default: true, Description: "Read groups and their members."},
			{Name: settingManager, Type: plugin.TypeBoolean, Default: true, Description: "Read managers (enterprise extension)."},
			{Name: settingOrgs, Type: plugin.TypeStrings,
				Description: `Attributes of the enterprise extension whose values are the ids of a person's orgs: "organization", "division", "department", "costCenter".`},
			{Name: settingPaging, Type: plugin.TypeString, Default: pagingAuto,
				Description: `How lists are paged: "index", "cursor" (RFC 9865), or "auto": by cursor where the service declares it.`},
			{Name: settingPageSize, Type: plugin.TypeInteger, Default: int64(100), Description: "How many resources to ask for at once, 2 to 10000."},
			{Name: settingPageOverlap, Type: plugin.TypeBoolean, Default: true,
				Description: "Ask each page by index to begin with the last resource of the one before, which shows a list that moved. Off only for services that page in fixed steps."},
			{Name: settingMaxEntries, Type: plugin.TypeInteger, Default: int64(1_000_000), Description: "The most people, the most groups, and the most members in all that are read."},
			{Name: settingMaxResponse, Type: plugin.TypeInteger, Default: int64(32 << 20), Description: "The longest answer that is read, bytes."},
			{Name: settingMaxRetries, Type: plugin.TypeInteger, Default: int64(6), Description: "How often a request that was throttled or failed is sent again."},
			{Name: settingTimeout, Type: plugin.TypeDuration, Default: 10 * time.Minute, Description: "How long a reading may take, waiting included."},
			{Name: settingRequest, Type: plugin.TypeDuration, Default: 30 * time.Second, Description: "How long one request may take."},
		},
	}
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) Options {
	text := func(name string) string { s, _ := config[name].(string); return s }
	integer := func(name string) int64 { n, _ := config[name].(int64); return n }
	truth := func(name string) bool { b, _ := config[name].(bool); return b }
	list := func(name string) []string { l, _ := config[name].([]string); return l }
	duration := func(name string) time.Duration { d, _ := config[name].(time.Duration); return d }
	return Options{
		BaseURL: text(settingBaseURL), CAFile: text(settingCAFile),
		Token: text(settingToken), Username: text(settingUsername), Password: text(settingPassword),
		TokenURL: text(settingTokenURL), ClientID: text(settingClientID), ClientSecret: text(settingClientSecret), Scopes: list(settingScopes),
		UserFilter: text(settingUserFilter), GroupFilter: text(settingGroupFilter),
		UserID: text(settingUserID), GroupID: text(settingGroupID),
		Groups: truth(settingGroups), Manager: truth(settingManager), OrgAttributes: list(settingOrgs),
		Paging: text(settingPaging), PageSize: integer(settingPageSize), PageOverlap: truth(settingPageOverlap),
		MaxEntries: integer(settingMaxEntries), MaxResponseBytes: integer(settingMaxResponse), MaxRetries: integer(settingMaxRetries),
		Timeout: duration(settingTimeout), RequestTimeout: duration(settingRequest),
	}
}
