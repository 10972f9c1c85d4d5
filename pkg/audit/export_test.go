package audit

// Again is the second way to compute a total, for tests of its windows.
var Again = again

// CheckClasses is for a test of weights.
var CheckClasses = checkClasses
