package federation

import "context"

// CarryOn carries the org's move on until it is over or cannot go on now.
func (f *Federation) CarryOn(ctx context.Context, org string) error {
	o, err := f.Applications.Org(ctx, org)
	if err != nil || o.Moving == "" {
		return err
	}
	j := f.carry(org, o.Moving)
	<-j.done
	return j.err
}

// Settled waits until nothing goes on.
func (f *Federation) Settled() {
	for {
		f.mu.Lock()
		var one *job
		for _, j := range f.jobs {
			one = j
		}
		f.mu.Unlock()
		if one == nil {
			return
		}
		<-one.done
	}
}

// Bound lowers how many bytes a dataset may have.
func (f *Federation) Bound(bytes int) { f.maxDataset = bytes }

// At has fn called at every point of a move; its error ends the turn there, as the death
// of the host does.
func (f *Federation) At(fn func(point string) error) { f.at = fn }
