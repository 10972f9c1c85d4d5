package enumerate

// Construct returns one solution for side n, as the column of the queen on each row, without a search.
// n must be at least 1. It returns nil for n = 2 and n = 3, which have no solution.
//
// For even n there are two patterns of knight's moves: one fails where n mod 6 = 2, the other where
// n mod 6 = 0. Neither has a queen on the long diagonal from the top left, so for odd n one more
// queen goes to the bottom right corner of the board of side n-1.
//
// References:
//
//	[pauls]        Pauls, E., Das Maximalproblem der Damen auf dem Schachbrete, Deutsche
//	               Schachzeitung 29 (1874), pp. 129-134 and 257-267. The construction.
//	[hoffman]      Hoffman, E. J., Loessi, J. C., Moore, R. C., Constructions for the
//	               solution of the m queens problem, Mathematics Magazine 42 (1969),
//	               pp. 66-72. The two patterns in this form, with proofs.
//	[bernhardsson] Bernhardsson, B., Explicit solutions to the n-queens problem for all
//	               n, ACM SIGART Bulletin 2 (1991), p. 7. A summary.
func Construct(n int) []int {
	if n == 2 || n == 3 {
		return nil
	}
	columns := make([]int, n)
	even := n - n%2
	columns[n-1] = n - 1 // for odd n; for even n it is overwritten
	for i := range even / 2 {
		if even%6 != 2 {
			columns[i], columns[even/2+i] = 2*i+1, 2*i
			continue
		}
		column := (2*i + even/2 - 1) % even
		columns[i], columns[even-1-i] = column, even-1-column
	}
	return columns
}
