"use strict";
// P and Q of one player: the only JavaScript port of mashq.protocol.score.reduce. `shares` are the costs by resource,
// relative to the largest or to a reference; `weights` are summed in their order, as in the original.
function mashqScore(alpha, h, beta, shares, weights) {
  let p = 0;
  for (const [name, weight] of Object.entries(weights)) p += weight * shares[name];
  return { p, q: h === null ? null : beta ? alpha * h - beta * p : alpha * h };
}

// The row with the highest Q, as mashq.protocol.score.winner_of has it: null for a tie, and where nobody has a Q.
function mashqWinner(rows) {
  const known = rows.filter((row) => row.q !== null);
  const best = Math.max(...known.map((row) => row.q));
  const leaders = known.filter((row) => Math.abs(row.q - best) < 1e-9);
  return leaders.length === 1 ? leaders[0] : null;
}

// A number with a minus sign instead of a hyphen.
function mashqNumber(value, digits) {
  return value.toFixed(digits).replace("-", "−");
}
