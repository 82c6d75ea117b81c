package layout

// RemoveTreeFor is RemoveTree with less patience.
var RemoveTreeFor = removeTree
