
# Plumb itself can be asked again.
case $1 in configure|abort-remove) rm -f "$note" ;; esac
