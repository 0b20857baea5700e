sed -n '/\.resolution/{p;q;}' /proc/timer_list
