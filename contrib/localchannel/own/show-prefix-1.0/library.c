/* The prefix three times: alone, and twice in one string, which an installer must keep one string. */

const char show_prefix[] = PREFIX;
const char show_prefix_list[] = PREFIX "/bin:" PREFIX "/sbin:/usr/bin";
