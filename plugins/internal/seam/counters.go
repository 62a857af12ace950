package seam

import "github.com/authzhost/authz/sdk/storage"

// CheckCounters refuses a batch of counters that no driver records.
func CheckCounters(deltas []storage.MetricBucket) error {
	if err := CheckBatch(deltas); err != nil {
		return err
	}
	for _, delta := range deltas {
		if err := CheckCounter(delta); err != nil {
			return err
		}
	}
	return nil
}

// CheckBatch is CheckCounters without a look at each counter by itself.
func CheckBatch(deltas []storage.MetricBucket) error {
	if len(deltas) > storage.MaxCommitChanges {
		return storage.Errorf(storage.CodeTooLarge, "%d counters in one batch, at most %d", len(deltas), storage.MaxCommitChanges)
	}
	return storage.CheckValue(deltas)
}

// CheckCounter refuses a counter that no driver records.
func CheckCounter(delta storage.MetricBucket) error {
	switch {
	case delta.Count < 0:
		return storage.Errorf(storage.CodeValidation, "a counter cannot fall by %d", -delta.Count)
	case delta.Dimension == "":
		return storage.Errorf(storage.CodeValidation, "a counter needs a dimension")
	}
	return nil
}
