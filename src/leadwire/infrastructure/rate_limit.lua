-- The shared bucket: refilled by Redis's clock, less what one process spent since it last asked, and only then cut to
-- `most`: else whoever uses more than a burst between two settlements would owe tokens while within the limit. With
-- `now`, nothing is taken unless there is enough. A time that lies ahead, as the clock was put back, is taken for past.
local now = redis.call('TIME')
now = now[1] + now[2] / 1e6
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local spent, burst, rate, span = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local most, at_once = burst, ARGV[6] == 'now'
if at_once then most = burst - spent end
local since = math.abs(now - (tonumber(kept[2]) or now - span))
local tokens = math.min(most, (tonumber(kept[1]) or burst) + since * rate - spent)
if at_once and tokens < 0 then return tostring(tokens) end
tokens = math.max(-burst, tokens)
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], ARGV[5])
return tostring(tokens)
