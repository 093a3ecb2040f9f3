// A receiver of Leadwire's webhooks. Run it as the Program.cs of `dotnet new console`, or with Mono: mcs Receiver.cs &&
// SECRET=whsec_... PORT=9000 mono Receiver.exe

using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class Receiver
{
    /// <summary>Whether one of the secrets signed exactly these bytes, less than five minutes ago.</summary>
    public static bool Verified(string[] secrets, Func<string, string> header, byte[] body)
    {
        string id = header("webhook-id"), sent = header("webhook-timestamp"), signatures = header("webhook-signature");
        if (id == null || sent == null || signatures == null || !Regex.IsMatch(sent, @"\A[0-9]{1,12}\z")
            || Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - long.Parse(sent)) > 300)
        {
            return false;
        }
        byte[] signed = Encoding.UTF8.GetBytes($"{id}.{sent}.").Concat(body).ToArray();
        bool matching = false;
        foreach (string secret in secrets)
        {
            using (var hmac = new HMACSHA256(Convert.FromBase64String(secret.StartsWith("whsec_") ? secret.Substring(6) : secret)))
            {
                string expected = "v1," + Convert.ToBase64String(hmac.ComputeHash(signed));
                foreach (string given in signatures.Split(' '))
                {
                    int different = given.Length ^ expected.Length; // in constant time, as CryptographicOperations.FixedTimeEquals
                    for (int n = 0; n < Math.Min(given.Length, expected.Length); n++) different |= given[n] ^ expected[n];
                    matching |= different == 0 && hmac.Key.Length >= 24; // an unset variable is no secret
                }
            }
        }
        return matching;
    }

    public static void Main()
    {
        string[] secrets = Environment.GetEnvironmentVariable("SECRET").Split(',');
        var listener = new HttpListener();
        listener.Prefixes.Add($"http://127.0.0.1:{Environment.GetEnvironmentVariable("PORT")}/");
        listener.Start();
        while (true)
        {
            HttpListenerContext context = listener.GetContext();
            var copied = new MemoryStream();
            context.Request.InputStream.CopyTo(copied);
            bool genuine = Verified(secrets, name => context.Request.Headers[name], copied.ToArray());
            context.Response.StatusCode = genuine ? 204 : 401;
            context.Response.Close();
            Match kind = Regex.Match(Encoding.UTF8.GetString(copied.ToArray()), "\"event\":\"([^\"]+)\"");
            if (genuine && kind.Success) // later, and once for each webhook-id: an event may come again
            {
                Console.WriteLine($"{context.Request.Headers["webhook-id"]} {kind.Groups[1].Value}");
            }
        }
    }
}
