#include "slabs/trailer.h"

struct ebbi_trailer_secret ebbi_trailer_secret;
