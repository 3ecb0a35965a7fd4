package space

// leastDays of history are needed for any forecast.
const leastDays = 14
