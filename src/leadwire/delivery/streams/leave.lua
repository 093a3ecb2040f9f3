-- Take off the name that follows, and those idle for longer than the milliseconds after it. What a consumer holds when
-- its name is taken off would be nobody's any more.
if redis.call('EXISTS', KEYS[1]) == 0 then return end
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if group[2] == ARGV[1] then
        for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
            local name, pending, idle = one[2], one[4], one[6]
            if pending == 0 and (name == ARGV[2] or idle > tonumber(ARGV[3])) then
                redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
            end
        end
    end
end
