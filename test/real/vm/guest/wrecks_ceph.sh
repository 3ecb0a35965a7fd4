# shellcheck shell=bash
# A MariaDB on an image of Ceph: a cluster as it should be, one that was left in the middle of a repair,
# and one without a second copy.
start_ceph /dev/disk/by-id/virtio-one /dev/disk/by-id/virtio-two
ceph osd pool create db 8
rbd pool init db
map_image my-data 1G xfs /srv/rbd
cp -a /var/lib/mysql /srv/rbd/data
start_mariadb --datadir=/srv/rbd/data --innodb-log-file-size=16M

# What asks the cluster may leave nothing behind.
left() { find /var/log/ceph /run/ceph -type f -newer /run/before -name '*client*'; }
touch /run/before
keep sound
[ -z "$(left)" ] || { echo "plumb had ceph write $(left)"; exit 1; }

ceph osd set noout
ceph osd set nodeep-scrub
ceph osd pool set db min_size 1
ceph config set osd osd_scrub_begin_hour 1
ceph config set osd osd_scrub_end_hour 6
ceph osd set-nearfull-ratio 0.01
until ceph osd dump --format json | grep -q '"nearfull"'; do sleep 2; done
keep careless

ceph config set global mon_allow_pool_size_one true
ceph osd pool set db size 1 --yes-i-really-mean-it
keep alone
