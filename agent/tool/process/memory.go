package process

import "strconv"

// startedCell counts what was started, also by the workers before.
const startedCell = "started"

// Keep gives how many processes were started, for [tool.Keeper].
func (t *Table) Keep() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.lost + len(t.procs); n > 0 {
		return map[string]string{startedCell: strconv.Itoa(n)}
	}
	return nil
}

// Restore notes that so many had been started and are gone. Their ids are not
// given again: an id names one process over the whole run.
func (t *Table) Restore(kept map[string]string) {
	n, err := strconv.Atoi(kept[startedCell])
	if err != nil || n < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = n
}

// isLost says that an id was given by an earlier worker; the caller holds mu.
func (t *Table) isLost(id string) bool {
	n, err := strconv.Atoi(trimID(id))
	return err == nil && n >= 1 && n <= t.lost
}

func trimID(id string) string {
	if len(id) > 1 && id[0] == 'p' {
		return id[1:]
	}
	return ""
}
