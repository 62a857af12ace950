package pluginhost

import (
	"context"

	"github.com/authzhost/authz/sdk/storage"
)

// Renew and Health pass on what the embedded interface does not name: every plugin's
// store can be asked, and one that cannot says so.
func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	renewer, ok := s.Store.(storage.Renewer)
	if !ok {
		return "", storage.Errorf(storage.CodeUnsupported, "plugin %q cannot give its content a new incarnation", s.driver.plugin.spec.Name)
	}
	return renewer.Renew(ctx, expect)
}

func (s *store) Health(ctx context.Context) (storage.Health, error) {
	reporter, ok := s.Store.(storage.HealthReporter)
	if !ok {
		return storage.Health{}, storage.Errorf(storage.CodeUnsupported, "plugin %q does not tell how its database is", s.driver.plugin.spec.Name)
	}
	return reporter.Health(ctx)
}
